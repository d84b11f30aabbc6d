"""The published JSON Schema of a batch comparison.

After a change of the records: `python -m evalplatform.reports.batch_comparison_schema > docs/batch-comparison.schema.json`.
"""

import json
import sys

from evalplatform.reports.batch_comparison_v3 import BatchComparisonV3


def batch_comparison_schema_text() -> str:
    """Return the schema as it stands in docs/batch-comparison.schema.json."""
    return json.dumps(BatchComparisonV3.model_json_schema(mode="serialization"), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(batch_comparison_schema_text())
