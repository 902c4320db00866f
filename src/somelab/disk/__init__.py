"""The ground that other rooms write on: files and folders that are whole or absent, and what is built once for all runs."""
