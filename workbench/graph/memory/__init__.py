"""Where the tensors of a network lie: views, shared places, lifetimes, and the smallest arena."""
