"""A small kit that writes SVG: a canvas with one style, a disk of keys, a chart. No plotting library, no
fonts to ship."""
