"""For who grades: notebooks are run as they stand, progress is judged anew, and a class is seen at a glance."""
