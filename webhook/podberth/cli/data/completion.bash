# @shell@ completion of podberth @version@; made by podberth completion @shell@
_podberth() {
    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" word words="" flags="" listed=""
    local -i at=COMP_CWORD
    # in a list, a:2,b comes as three words, and b is the value; zsh keeps them one
    [[ $current == *,* ]] && listed="${current%,*},"
    while [[ ${COMP_WORDS[at-1]} == ":" ]]; do
        at=at-2
    done
    before="${COMP_WORDS[at-1]}"
    # --flag=value comes as three words
    if [[ $current == "=" ]]; then
        current=""
    elif [[ $before == "=" ]]; then
        before="${COMP_WORDS[at-2]}"
    fi
    for word in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
        case "$command $word" in
            @commands@) command="${command:+$command }$word" ;;
        esac
    done
    case "$command|$before" in
@values@
    esac
    case "$command" in
@words@
    esac
    [[ $current == -* ]] && words="$flags"
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _podberth podberth
