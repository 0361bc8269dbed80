"""Labs for other graders: the same source as an assignment of nbgrader or of Otter-Grader.

Both run a submission and ask the exercises for their points, so a grader's points are those that the student saw.
"""
