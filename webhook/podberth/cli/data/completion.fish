# fish completion of podberth @version@; made by podberth completion fish
function __podberth_at
    set -l command
    for word in (commandline -opc)[2..-1]
        if contains -- (string join ' ' $command $word) @commands@
            set command $command $word
        end
    end
    test "$command" = "$argv"
end
