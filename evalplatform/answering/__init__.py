"""Answering: plan a cell, ask every arm every question, keep what happened, failed rows included."""
