"""The JSON of GitHub's REST interface, as far as the double of a forge answers it."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["comment", "label", "pull_request", "pull_request_in_a_list", "repository", "user"]

_AT: Final = "2026-01-01T00:00:00Z"
_USER_LINKS: Final = (
    "followers", "following", "gists", "starred", "subscriptions", "organizations", "repos", "events", "received_events",
)  # fmt: skip
_LINKS: Final = (
    "archive", "assignees", "blobs", "branches", "collaborators", "comments", "commits", "compare", "contents",
    "contributors", "deployments", "downloads", "events", "forks", "git_commits", "git_refs", "git_tags", "hooks",
    "issue_comment", "issue_events", "issues", "keys", "labels", "languages", "merges", "milestones", "notifications",
    "pulls", "releases", "stargazers", "statuses", "subscribers", "subscription", "tags", "teams", "trees",
)  # fmt: skip
_COUNTS: Final = (
    "forks", "forks_count", "open_issues", "open_issues_count", "size", "stargazers_count", "watchers", "watchers_count",
    "network_count", "subscribers_count",
)  # fmt: skip
_HAS: Final = ("downloads", "issues", "projects", "wiki", "pages", "discussions")


def user(web: str, login: str) -> dict[str, Any]:
    """An account."""
    url = f"{web}/users/{login}"
    return {
        "login": login,
        "id": 1,
        "node_id": "U_1",
        "avatar_url": url,
        "gravatar_id": "",
        "url": url,
        "html_url": url,
        **{f"{name}_url": url for name in _USER_LINKS},
        "type": "User",
        "site_admin": False,
    }


def repository(web: str, api: str, slug: str, number: int, base: str) -> dict[str, Any]:
    """A repository; `number` is what stays when it is renamed."""
    owner, name = slug.split("/")
    url = f"{api}/repos/{slug}"
    return {
        "id": number,
        "node_id": f"R_{number}",
        "name": name,
        "full_name": slug,
        "owner": user(web, owner),
        "private": False,
        "fork": False,
        "html_url": f"{web}/{slug}",
        "url": url,
        **{f"{link}_url": f"{url}/{link}" for link in _LINKS},
        "clone_url": f"{web}/{slug}.git",
        "git_url": f"{web}/{slug}.git",
        "ssh_url": f"git@localhost:{slug}.git",
        "svn_url": f"{web}/{slug}",
        "mirror_url": None,
        "description": None,
        "homepage": None,
        "language": None,
        "license": None,
        "default_branch": base,
        **dict.fromkeys(_COUNTS, 0),
        **{f"has_{name}": True for name in _HAS},
        "archived": False,
        "disabled": False,
        "pushed_at": _AT,
        "created_at": _AT,
        "updated_at": _AT,
        "permissions": {"admin": False, "maintain": False, "push": True, "triage": True, "pull": True},
    }


def label(api: str, slug: str, number: int, name: str, colour: str = "ededed") -> dict[str, Any]:
    """A label of a repository."""
    return {
        "id": number,
        "node_id": f"L_{number}",
        "url": f"{api}/repos/{slug}/labels/{name}",
        "name": name,
        "description": None,
        "color": colour,
        "default": False,
    }


def comment(web: str, api: str, slug: str, number: int, issue: int, body: str) -> dict[str, Any]:
    """A comment on an issue or pull request."""
    return {
        "id": number,
        "node_id": f"C_{number}",
        "url": f"{api}/repos/{slug}/issues/comments/{number}",
        "html_url": f"{web}/{slug}/pull/{issue}#issuecomment-{number}",
        "issue_url": f"{api}/repos/{slug}/issues/{issue}",
        "body": body,
        "user": user(web, slug.split("/", maxsplit=1)[0]),
        "created_at": _AT,
        "updated_at": _AT,
        "author_association": "OWNER",
    }


def pull_request_in_a_list(
    web: str, api: str, slug: str, pull: dict[str, Any], repo: dict[str, Any]
) -> dict[str, Any]:
    """A pull request as lists tell it. `pull`: number, state, title, body, labels, head, base and their commits, merged."""
    owner, number = slug.split("/", maxsplit=1)[0], pull["number"]
    url, issue = f"{api}/repos/{slug}/pulls/{number}", f"{api}/repos/{slug}/issues/{number}"
    page = f"{web}/{slug}/pull/{number}"
    links = {
        "self": url,
        "html": page,
        "issue": issue,
        "comments": f"{issue}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{url}/comments",
        "commits": f"{url}/commits",
        "statuses": f"{api}/repos/{slug}/statuses/{pull['head_commit']}",
    }
    sides = {
        side: {
            "label": f"{owner}:{pull[side]}",
            "ref": pull[side],
            "sha": pull[f"{side}_commit"],
            "user": user(web, owner),
            "repo": repo,
        }
        for side in ("head", "base")
    }
    return {
        "id": 1000 + number,
        "node_id": f"PR_{number}",
        "number": number,
        "state": pull["state"],
        "title": pull["title"],
        "body": pull["body"],
        "labels": pull["labels"],
        **sides,
        "url": url,
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": issue,
        **{
            f"{name}_url": links[name]
            for name in ("comments", "review_comments", "review_comment", "commits", "statuses")
        },
        "_links": {name: {"href": link} for name, link in links.items()},
        "user": user(web, owner),
        **dict.fromkeys(("assignee", "milestone", "auto_merge")),
        **{name: [] for name in ("assignees", "requested_reviewers", "requested_teams")},
        "locked": False,
        "draft": False,
        "created_at": _AT,
        "updated_at": _AT,
        "closed_at": None if pull["state"] == "open" else _AT,
        "merged_at": _AT if pull["merged"] else None,
        "merge_commit_sha": pull["merged"],
        "author_association": "OWNER",
    }


def pull_request(
    web: str, api: str, slug: str, pull: dict[str, Any], repo: dict[str, Any], comments: int
) -> dict[str, Any]:
    """A pull request as it is told by itself."""
    return pull_request_in_a_list(web, api, slug, pull, repo) | {
        "merged": bool(pull["merged"]),
        "mergeable": True,
        "rebaseable": True,
        "mergeable_state": "clean",
        "merged_by": user(web, slug.split("/", maxsplit=1)[0]) if pull["merged"] else None,
        "comments": comments,
        "review_comments": 0,
        "maintainer_can_modify": False,
        "commits": 1,
        "additions": 1,
        "deletions": 1,
        "changed_files": 1,
    }
