"""What an unscheduled function computes, with NumPy: the oracle of compiled code.

Start with `evaluate`; `product` computes sums of products as matrix products, `expressions` and `math` the rest.
"""
