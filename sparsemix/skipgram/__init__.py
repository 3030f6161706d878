"""Skip-gram topics of word sequences."""

from sparsemix.skipgram._skip_gram_topic_model import SkipGramTopicModel
from sparsemix.skipgram._token_sequences import TokenSequences

__all__ = ["SkipGramTopicModel", "TokenSequences"]
