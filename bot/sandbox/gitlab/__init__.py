"""GitLab's dialect of the sandbox forge: REST v4, webhooks, access to git.

An operation is added like this, in a module beside this one that `http.OPERATIONS` names:

```python
@route("GET", "/projects/{id}/merge_requests/{iid}", CODE)
def get_merge_request(request: ApiRequest) -> ApiResponse:
    pull = request.project.pulls.get(request.number("iid"))
    if pull is None:
        raise missing("404 Not found")
    return ApiResponse(body=…)
```

- The template is spelled as `tests/contract/forge_gitlab/answers.json` names paths (`{iid}`),
  so that tests find the description of the answer. `{id}` is the number or the quoted path of a
  project below `/projects/`, of a group below `/groups/`: `request.project`, `request.group`.
- The need (`routing.AccessRequirement`) is checked before the handler runs: `SEEN`, `CODE`,
  `SIGNED_IN`, `at_least(AccessLevel.DEVELOPER)`, `ADMIN`; so are the token's scopes, and that
  nothing is written to an archived project.
- `request.input` reads query and body by name and type, with GitLab's refusals.
- `routing.page` and `routing.keyset` answer a page of a list.
- Refusals are made in `errors`; a `RefusedError` of the shared rules is answered in GitLab's shape.
- What happens is told by `state.emit`; `deliveries.payload` makes a function
  the maker of its payloads.
- The forge's lock (`state.lock`) is held while a handler runs.
"""
