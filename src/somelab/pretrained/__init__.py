"""Models that others trained: cut into frozen experts with keys (`somelab carve`), adapted to new text."""
