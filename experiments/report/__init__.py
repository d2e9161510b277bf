"""`report.html`: a study's answer, tables, figures and probed rounds in one file that loads nothing."""
