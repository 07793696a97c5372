"""A page's charts as SVG and PNG."""
