"""The front end: the same page is a report file or a live server. This package turns run folders into the
page's data."""
