"""The table of a log: columns that take little room, values that are read when asked for, large files in parts.

`columns` holds what evaluations say as arrays, `lazy_array` is the pandas array of values that stay in the file,
`line_values` reads them, `parts` reads a large file in several processes (`part_reader` is such a process), `kept`
keeps the columns of a file on disk.
"""
