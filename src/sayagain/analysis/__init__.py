"""What runs say when they are held against each other: statistics, comparisons and gates."""
