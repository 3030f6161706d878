"""Skip-gram topics: from words in their order."""

from sparsemix.skipgram._skip_gram_topic_model import SkipGramTopicModel
from sparsemix.skipgram._token_sequences import TokenSequences

__all__ = ["SkipGramTopicModel", "TokenSequences"]
