"""Where the tensors of a partitioned network lie: views, joined tensors, lifetimes, one small arena.

Start with `plan`. `joins` and `operand_views` avoid copies, `arena` places what is left.
"""
