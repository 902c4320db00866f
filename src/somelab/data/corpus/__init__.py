"""The built-in corpus: endless simple English in several kinds, each word labelled by its grammar. It needs
no download, is deterministic, and labels what experts could specialise in."""

from somelab.data.corpus.generator import KINDS, document, documents
from somelab.data.corpus.labels import Document, Role, Word, WordClass

__all__ = ["KINDS", "Document", "Role", "Word", "WordClass", "document", "documents"]
