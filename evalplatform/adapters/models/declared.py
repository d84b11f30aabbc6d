"""From an endpoint of the project file to one that the model adapters take."""

from evalplatform.adapters.models.endpoint import ModelEndpoint
from evalplatform.adapters.models.prices import TokenPrices
from evalplatform.project.schema import EndpointSettings


def model_endpoint(settings: EndpointSettings) -> ModelEndpoint:
    """Return an endpoint of the project file as the model adapters take it."""
    return ModelEndpoint(
        provider=settings.provider,
        base_url=settings.base_url,
        key_env=settings.key_env,
        stream=settings.stream,
        timeout_seconds=settings.timeout_seconds,
        max_connections=max(16, settings.limits.max_concurrent),
        prices=None if settings.prices is None else TokenPrices(**settings.prices.model_dump()),
    )
