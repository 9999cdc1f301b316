"""What rules are made with: what they are given, what they say, and how they are run so that none ends in silence."""
