"""An agent for refunds that follows rules, so that it does the same every time. A real one would ask a model for each step."""

import json
import re
from typing import Any

ORDERS = {
    "A-1001": {"item": "a teapot", "amount_usd": 39, "state": "delivered"},
    "A-1002": {"item": "a bicycle", "amount_usd": 640, "state": "on its way"},
}
REFUND_LIMIT_USD = 100


class Conversation:
    """Messages in the form of OpenAI's chat API, as they are written down."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def called(self, tool: str, arguments: dict[str, Any], result: Any) -> Any:
        """Write down a tool call and its result, and return the result."""
        call_id = f"call-{len(self.messages)}"
        function = {"name": tool, "arguments": json.dumps(arguments)}
        self.messages.append(
            {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "type": "function", "function": function}]}
        )
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": json.dumps(result)})
        return result

    def said(self, role: str, text: str) -> None:
        """Write down a message."""
        self.messages.append({"role": role, "content": text})


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer the user's messages one after the other, and return the whole conversation."""
    conversation = Conversation()
    for message in request["messages"]:
        conversation.said("user", message["content"])
        conversation.said("assistant", handled(conversation, message["content"]))
    return {"messages": conversation.messages}


def handled(conversation: Conversation, text: str) -> str:
    """Do what one message asks for, and return what the customer is told."""
    named = re.search(r"[A-Z]-\d+", text)
    if named is None:
        return "Which order is it about?"
    order_id = named.group()
    order = conversation.called("find_order", {"order_id": order_id}, ORDERS.get(order_id))
    if order is None:
        return f"I cannot find order {order_id}. Is the number right?"
    if "refund" not in text.lower():
        return f"Order {order_id}, {order['item']}, is {order['state']}."
    if order["amount_usd"] > REFUND_LIMIT_USD:
        conversation.called("escalate_to_human", {"order_id": order_id, "reason": "above the refund limit"}, "queued")
        return "A colleague will look at your refund today."
    conversation.called("issue_refund", {"order_id": order_id, "amount_usd": order["amount_usd"]}, "done")
    return f"Order {order_id} is refunded: ${order['amount_usd']}."
