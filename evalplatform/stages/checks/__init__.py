"""Checks on what the stages made: numbers that cannot be trusted are shown, and stopped where the project file says so.

A check is one entry of `ANSWER_CHECKS`, `JUDGE_CHECKS` or `SCORE_CHECKS`, a function of one evidence value, with its limit in
`evalplatform.project.policy`.
"""
