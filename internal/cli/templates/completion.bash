# flowrun completes without the package bash-completion too: what it needs of that is here.
if ! declare -F _init_completion >/dev/null 2>&1 && ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    # Sets cur, prev, words and cword, with words that hold = and : in one piece.
    _get_comp_words_by_ref()
    {
        local line=$COMP_LINE i n=-1 rest word glue=""
        words=()
        for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
            word=${COMP_WORDS[i]}
            rest=${line#"${line%%[![:space:]]*}"}
            if ((n >= 0)) && [[ $rest == "$line" && ($word == [=:]* || -n $glue) ]]; then
                words[n]+=$word
            else
                n=$((n + 1))
                words[n]=$word
            fi
            glue=""
            [[ $word == *[=:] ]] && glue=1
            line=${rest#"$word"}
            ((i == COMP_CWORD)) && cword=$n
        done
        cur=${words[cword]}
        prev=${words[cword - 1]}
    }
fi
if ! declare -F _filedir >/dev/null 2>&1; then
    # Files whose name ends with .$1, and folders.
    _filedir()
    {
        local name
        COMPREPLY=()
        compopt -o filenames 2>/dev/null
        while IFS='' read -r name; do
            if [[ -d $name || -z ${1-} || $name =~ \.(${1-})$ ]]; then
                COMPREPLY+=("$name")
            fi
        done < <(compgen -f -- "$cur")
    }
fi

