"""The fifteen computations that generated code is judged by, and the libraries that it is judged against."""
