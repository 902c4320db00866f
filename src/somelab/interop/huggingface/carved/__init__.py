"""Models of Hugging Face whose feed-forward blocks are cut into groups of neurons (`somelab carve`)."""
