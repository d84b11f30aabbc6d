"""The columns of a file of labels. Others are passed over, so that a scores file with a column of judgements added is one."""

ANSWER_DIGEST = "answer_digest"
SUBJECT_KIND = "subject_kind"
SUBJECT = "subject"
LABELLER = "labeller"
LABELLED_AT = "labelled_at"
SCALE = "scale"
VALUE = "value"
LABEL_POINTS = "label_points"
LABEL_VERDICT = "label_verdict"
"""Judgements have names of their own: in a scores file `points` are the judge's, and a judge must not be its own measure."""

JUDGEMENTS = (LABEL_POINTS, LABEL_VERDICT, VALUE)
COLUMNS = (ANSWER_DIGEST, SUBJECT_KIND, SUBJECT, LABELLER, LABELLED_AT, SCALE, *JUDGEMENTS)
