"""Artifacts: content-addressed blobs, immutable versions, and one pointer per partition that moves last."""
