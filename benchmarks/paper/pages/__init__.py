"""Pages made of rows alone: blocks of text, tables and charts, as Markdown and as one HTML file."""
