{{- /* --policies of webhook and audit. */}}
{{- define "podberth.policies" -}}
{{- if eq .source "cluster" }}cluster
{{- else }}{{ .shipped | ternary "/etc/podberth/policies" "/etc/podberth/policies/own" }}{{ end }}
{{- end }}
