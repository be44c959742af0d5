"""One kit for all HTML reports: elements, charts, links to data, a page with its theme."""
