"""Building blocks of all HTML pages: elements, charts, graphs."""
