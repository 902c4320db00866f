"""The kinds of document. To add one: write a file with a `KIND` beside the others, and name it here, at the end."""

from somelab.data.corpus.kinds import arithmetic, dialogue, howto, letter, recipe, story, weather

KINDS = {module.KIND.name: module.KIND for module in (story, recipe, letter, howto, dialogue, weather, arithmetic)}
