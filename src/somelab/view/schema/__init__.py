"""The types of what the page reads; `ui/schema.py` writes them as TypeScript."""
