"""What importers read files of other programs with; nothing in them is executed.

`json_document` and `json_elements` read broken JSON, `literals` Python's, `pickles` and `sqlite` what their names say;
`times` and `objectives` say what numbers mean, `column_mapping` what the columns of a table of one's own do.
"""
