"""From a text to its content in other notations. Each decoder takes bytes and yields pieces; `layers` nests them."""
