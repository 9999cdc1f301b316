"""From a text to what stands in it in another notation. Each takes bytes and gives pieces; `layers` nests them."""
