{{- /* Of a pod: image pull secrets, nodeSelector, tolerations. Takes the values of its process, and the chart's. */}}
{{- define "podberth.pod" -}}
{{- $said := dict }}
{{- with (index . 1).imagePullSecrets }}{{ $_ := set $said "imagePullSecrets" . }}{{ end }}
{{- with (index . 0).nodeSelector }}{{ $_ := set $said "nodeSelector" . }}{{ end }}
{{- with (index . 0).tolerations }}{{ $_ := set $said "tolerations" . }}{{ end }}
{{- with $said }}{{ toYaml . }}{{ end }}
{{- end }}
