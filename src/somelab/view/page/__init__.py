"""From run folders to what the page shows: one file per part."""
