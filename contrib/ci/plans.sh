#!/bin/sh
# Writes the plans of the workflows that a change touches, as Markdown for a comment
# (docs/ci.md): plans.sh BASE [FOLDER]. BASE is the branch or commit to compare with,
# FOLDER holds the workflows. No service is called.
set -eu
base=$1
folder=${2:-workflows}

echo '### What these workflows would do'
echo
git diff --name-only --diff-filter=d "$base"...HEAD -- "$folder" |
	grep '\.ya\{0,1\}ml$' | grep -v '\.test\.ya\{0,1\}ml$' | {
	none=true
	while IFS= read -r file; do
		none=false
		printf '<details><summary><code>%s</code></summary>\n\n' "$file"
		# Indented text is code: nothing in a plan can end it.
		flowrun plan "$file" 2>&1 | sed 's/^/    /' || true
		printf '\n</details>\n\n'
	done
	if $none; then
		echo 'No workflow has changed.'
	fi
}
