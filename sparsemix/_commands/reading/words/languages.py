"""The language of a text, by its script and its function words."""

import re
from collections import Counter

# Letters of a text that are looked at, from its middle: titles and licences are at its ends.
LOOKED_AT = 800
# A language is recognised by this number of function words with more than one letter, and by this share of all words.
LEAST_WORDS, LEAST_SHARE = 2, 0.08
# Languages share function words ("de la"). A language must have this many more function words than the next one, or
# MARGIN_OF_SHORT more in a text of fewer than SHORT words, where two words agree by chance.
SHORT, MARGIN, MARGIN_OF_SHORT = 30, 1, 2
# A corpus has a language if it is that of this share of the recognised texts, and of this share of all texts. Of 15,800
# English titles, at most 0.15 % are taken for another language, and 7 to 30 % are recognised as English.
OF_RECOGNISED, OF_ALL = 0.02, 0.01
WORD = re.compile(r"[^\W\d_]+")
# Ranges of letters that tell the language, or only the script.
SCRIPTS = {
    "japanese": "\u3040-\u30ff", "korean": "\uac00-\ud7af\u1100-\u11ff", "chinese": "\u3400-\u4dbf\u4e00-\u9fff",
    "thai": "\u0e00-\u0e7f", "greek": "\u0370-\u03ff\u1f00-\u1fff", "hebrew": "\u0590-\u05ff",
    "hindi": "\u0900-\u097f", "cyrillic": "\u0400-\u04ff", "arabic": "\u0600-\u06ff\u0750-\u077f",
    "latin": "a-z\u00c0-\u024f\u1e00-\u1eff",
}  # fmt: skip
LETTERS = {script: re.compile(f"[{letters}]") for script, letters in SCRIPTS.items()}
# The most frequent function words of languages whose script does not tell them apart.
FUNCTION_WORDS = {
    "latin": {
        "english": "the of and to in is that for it as was with be by on not he his but at are this have from or had "
        "an they which you were their she been has will would there when who can if more no we what your",
        "german": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden "
        "aus er hat dass daß sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder "
        "aber vor zur bis mehr durch man sein wurde sei ihr ihre ich wir was wenn kann dann diese dieser dieses wir "
        "keine eines können sollte muss falls",
        "french": "de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce il sont avec "
        "son cette elle ou mais comme aux ont ses être deux fait leur nous vous même peut je si sans tout ces était "
        "été entre aussi lui dont où donc votre cet leurs elles ils bien sous",
        "spanish": "de la que el en y a los del se las por un para con no una su al lo como más pero sus le ya o este "
        "sí porque esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante todos uno "
        "les ni contra otros ese eso ante ellos esto antes algunos qué unos yo otro otras es son está ser fue si puede",
        "portuguese": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das "
        "tem à seu sua ou ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem "
        "mesmo aos ter seus quem nas me esse eles estão você tinha foram essa num nem suas meu são pode",
        "italian": "di e il la che in a per un è del non della una si con i da le sono nel dei al alla gli come più lo "
        "anche ma o su se delle dalla ha questo dal nella degli essere cui ed ai questa dopo tra stato due ad loro era "
        "hanno suo sua ci quando tutti può solo sul alle mi dai fino molto prima",
        "dutch": "de het een van en in is dat op te zijn met voor niet die aan er om ook als dan bij maar uit nog naar "
        "heeft ze door over ik je deze worden wordt kan hij was geen meer of zo wat tot al hebben had haar werd na "
        "onder we dit moet mij zich u",
        "swedish": "och i att det som en på är av för med den till inte om ett han men var jag sig från vi så kan när "
        "eller ut där hade du år under också efter upp vid mot över skulle ska denna detta har de",
        "danish": "og i at det er en til på af for med der som den ikke de et har kan fra om men han var vi jeg så "
        "eller ved hvis skal blev efter også når være bliver dette denne hvor sig vil kun ud under mod meget",
        "norwegian": "og i det er på en som til av for med at ikke har de den et fra om var jeg kan han men så vi "
        "eller hun seg ved etter når skal bli ble denne dette hva også bare etter mot hvis ut mer være",
        "finnish": "ja on ei se että oli hän mutta niin kuin myös joka ovat sen voi tai jos kun ole vain mukaan sekä "
        "ne mitä nyt jo vielä olla tämä hänen minä tämän ollut eli jossa mikä siitä kanssa",
        "polish": "w i na z się nie do to że jest o a jak po od za co przez dla jego tym są czy był może tylko przy "
        "ale ich lub oraz jako tego które który która być ze było już ma jeśli także",
        "czech": "a se v na je že s z o do i to ve k za pro jako po by jsou ale si od při tak který nebo byl podle "
        "jeho které však až bylo pouze není jen může být ze která pokud",
        "hungarian": "a az és hogy nem is egy ez meg ha csak azt de mint már volt van vagy el még minden kell ezt így "
        "majd lehet azonban amely ki be szerint illetve úgy ezek után",
        "romanian": "de în și și a la cu o nu un pe se că din să ce mai este care pentru sunt au fost prin sau după "
        "ca dar al lui dacă fi sa ale fie cum acest această",
        "turkish": "ve bir bu da de için ile olarak çok daha olan gibi en kadar sonra ne ancak ya o her ki ise var "
        "değil olduğu tarafından veya yok mi göre bunu şu ama",
        "indonesian": "yang dan di dengan untuk ini dari dalam itu pada tidak adalah akan ke oleh juga atau ada dapat "
        "telah sebagai bisa karena tersebut anda saya mereka bahwa seperti",
        "vietnamese": "và của là có không được cho một các trong với những này đã để người khi đến về từ như cũng ra "
        "nhưng hay thì bạn",
        "catalan": "de la i a el que en els les un per una amb del és no al es més dels com si o però aquest aquesta "
        "són ha han pel també ser seva seu fins quan",
    },
    "cyrillic": {
        "russian": "и в не на что с по как это он для из к но у а то за от же так о его все или бы если был было была "
        "только может ее при до их также быть уже этот этого когда где чтобы которые который которая вы мы я она они "
        "этой во со ни нет есть без под после более том тем чем будет можно",
        "ukrainian": "і в не на що з до як це та у за від для й по або із про його але він є якщо бути може також які "
        "який яка цей вони ви ми під при чи було лише щоб буде між цього можна без",
        "bulgarian": "на и да се в за от не с е по че са до като но или при това ще има този тази беше които който "
        "която може след ако към също само със те",
        "serbian": "и је у да се на за су од са као не који која које што или по из али би то ако бити није до",
    },
    "arabic": {
        "arabic": "في من على أن إلى التي الذي عن هذا لا مع هذه كان بعد ما لم أو إن كل بين قبل كما وقد ذلك عند إذا هو "
        "هي حيث لكن منذ غير قد كانت يمكن حتى أي ثم تم",
        "persian": "و در به از که این را با است برای آن یک خود تا بر هم نیز می شود شد ها یا شده کرد های باید اما اگر "
        "هر بود کند آنها باشد پس",
        "urdu": "کے میں کی ہے اور سے کا کو اس یہ پر کہ نے ہیں ایک بھی تھا کر نہیں ہو تو جو گیا کیا",
    },
}  # fmt: skip
# Languages of each function word.
OF_WORD = {
    script: {
        word: tuple(name for name, others in names.items() if word in others.split())
        for words in names.values() for word in words.split()
    }
    for script, names in FUNCTION_WORDS.items()
}  # fmt: skip
CODES = {
    "ar": "arabic", "bg": "bulgarian", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "fa": "persian", "fi": "finnish", "fr": "french", "gu": "gujarati",
    "he": "hebrew", "hi": "hindi", "hu": "hungarian", "id": "indonesian", "it": "italian", "ja": "japanese",
    "ko": "korean", "ms": "malaysian", "nb": "norwegian", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sk": "slovak", "sr": "serbian", "sv": "swedish",
    "th": "thai", "tr": "turkish", "uk": "ukrainian", "ur": "urdu", "vi": "vietnamese", "zh": "chinese",
}  # fmt: skip


def language_of(text):
    """The language of a text, or "" if it has too few function words of any language.

    Texts in most scripts have one language here (Greek, Korean, Thai); Han without kana is Chinese.
    """
    start = max(0, (len(text) - LOOKED_AT) // 2)
    text = text[start : start + LOOKED_AT].lower()  # slicing is cheap: texts may have millions of letters
    script = script_of(text)
    if script not in FUNCTION_WORDS:
        return script
    words = WORD.findall(text)
    votes, longer, of_word = Counter(), Counter(), OF_WORD[script]
    for word, n in Counter(words).items():
        for name in of_word.get(word, ()):
            votes[name] += n
            longer[name] += n * (len(word) > 1)
    (best, most), (_, next_most), *_ = [*votes.most_common(2), ("", 0), ("", 0)]
    margin = MARGIN if len(words) >= SHORT else MARGIN_OF_SHORT
    enough = longer[best] >= LEAST_WORDS and most >= LEAST_SHARE * len(words)
    return best if enough and most >= next_most + margin else ""


def main_languages(seen):
    """The languages of a corpus, most frequent first, without those that few texts seem to have.

    Parameters
    ----------
    seen : Counter
        Number of texts of each language; "" for texts without a recognised language.
    """
    least = max(OF_RECOGNISED * (seen.total() - seen[""]), OF_ALL * seen.total())
    return [language for language, n in seen.most_common() if language and n >= least]


def script_of(text):
    """The script of most letters: a key of ``SCRIPTS``, or "" without letters."""
    if text.isascii():
        return "latin"
    found = {script: len(letters.findall(text)) for script, letters in LETTERS.items()}
    if found["japanese"] * 10 > found["chinese"]:  # Japanese texts have more Han than kana, Chinese ones no kana
        found["japanese"] += found["chinese"]
    script = max(found, key=found.get)
    return script if found[script] else ""


def function_words(language):
    """The function words of a language that identify it."""
    return next((names[language].split() for names in FUNCTION_WORDS.values() if language in names), [])
