"""The built-in corpus: endless simple English in several kinds, each word labelled by the grammar that wrote it.
It needs no download, is the same for everyone, and says what experts could specialise in."""

from somelab.data.corpus.generator import document, documents
from somelab.data.corpus.kinds import KINDS
from somelab.data.corpus.labels import Document, Role, Word, WordClass

__all__ = ["KINDS", "Document", "Role", "Word", "WordClass", "document", "documents"]
