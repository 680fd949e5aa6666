"""The options of the webhook, from its Deployment: flags, and the environment variables for them."""

from .model import Found, Unread


def option(deployment: Found, name: str) -> str:
    """Return the value of an option of ``podberth serve``, as ``client-ca``; empty where it is unknown."""
    if deployment is None or isinstance(deployment, Unread):
        return ""
    [container, *_] = deployment["spec"]["template"]["spec"]["containers"]
    arguments = [str(each) for each in container.get("args") or ()]
    for before, argument in zip(["", *arguments], arguments, strict=False):
        if before == f"--{name}":
            return argument
        if argument.startswith(f"--{name}="):
            return argument.partition("=")[2]
    variable = f"PODBERTH_{name.replace('-', '_').upper()}"
    return next((str(each.get("value", "")) for each in container.get("env") or () if each["name"] == variable), "")
