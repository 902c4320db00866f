"""The tasks of the how-to texts."""

from somelab.data.corpus.kinds.tasks.home import HOME
from somelab.data.corpus.kinds.tasks.living import LIVING
from somelab.data.corpus.kinds.tasks.making import MAKING

TASKS = (*HOME, *LIVING, *MAKING)
