"""The one front end: the same page is a report file or a live server. This room turns run folders into what the page shows."""
