"""somelab: a library, a command and a visual lab for SoME, the self-organizing mixture of experts."""

__version__ = "0.1.0"
