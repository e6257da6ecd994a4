"""Chapter 13: the compiler, which makes array programs of scalar ones.

The files are its passes, in the order in which they run:

    simplify    a recording that writes nothing down twice, and nothing that changes nothing
    lanes       what is computed in every lane, what once, and what not at all
    dots        sums of products as one instruction

No pass knows a derivative: forward and backward are recorded alike, by chapter 8.
"""
