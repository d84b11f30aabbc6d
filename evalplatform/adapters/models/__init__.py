"""Model clients: lean HTTP for what is asked most, pydantic-ai for every other provider, a keyless reader, and shipped doubles."""

from evalplatform.adapters.models.endpoint import ModelEndpoint
from evalplatform.adapters.models.open import model_providers, open_model_client

__all__ = ["ModelEndpoint", "model_providers", "open_model_client"]
