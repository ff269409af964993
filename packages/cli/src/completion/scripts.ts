/** The hidden command that the scripts call. */
export const askingWord = '__complete'

// Each script passes the words to authctl unchanged, never through eval: TAB must not run a `$(…)` that is being typed.

const bash = `# Completion of authctl for bash. To load it: source <(authctl completion bash)
_authctl() {
  local word line full='' glued='' cur="\${COMP_WORDS[COMP_CWORD]}"
  local -a words=()
  # bash splits words at = : and @; they are put together again.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ \${#words[@]} -gt 0 && ( $word == [=:@]* || ( -n $glued && -n $word ) ) ]]; then
      words[\${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    glued=''
    [[ $word == *[=:@] ]] && glued=yes
  done
  full="\${words[\${#words[@]}-1]}"
  [[ $cur == [=:@]* ]] && cur=''
  local prefix="\${full%"$cur"}"
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default 2>/dev/null
      return
    fi
    line="\${line%%$'\\t'*}"
    COMPREPLY+=("\${line#"$prefix"}")
  done < <(authctl ${askingWord} -- "\${words[@]}" 2>/dev/null)
}
complete -F _authctl authctl
`

const zsh = `#compdef authctl
# Completion of authctl for zsh. To load it: source <(authctl completion zsh), after compinit;
# or as a file named _authctl in a folder of $fpath.
_authctl() {
  local line value about
  local -a found
  for line in "\${(@f)$(authctl ${askingWord} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      _files
      return
    fi
    [[ -z $line ]] && continue
    value="\${line%%$'\\t'*}"
    about="\${line#*$'\\t'}"
    if [[ $about == $line ]]; then
      found+=("\${value//:/\\\\:}")
    else
      found+=("\${value//:/\\\\:}:$about")
    fi
  done
  (( \${#found} )) && _describe authctl found
}
if [[ \${funcstack[1]} == _authctl ]]; then
  _authctl "$@"
else
  compdef _authctl authctl
fi
`

const fish = `# Completion of authctl for fish. To load it: authctl completion fish | source
function __authctl_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    test (count $current) -eq 0; and set current ''
    for line in (authctl ${askingWord} -- $words $current 2>/dev/null)
        if test "$line" = ':files'
            __fish_complete_path $current
        else
            printf '%s\\n' $line
        end
    end
end
complete -c authctl -f -a '(__authctl_complete)'
`

export const completionScripts = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
])

export const shells = [...completionScripts.keys()]
