{{- /* image: REPOSITORY:TAG, or REPOSITORY@DIGEST. Takes the image's values and the chart. */}}
{{- define "podberth.image" -}}
{{- $image := index . 0 -}}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}
{{- else }}{{ $image.repository }}:{{ $image.tag | default (index . 1).AppVersion }}{{ end }}
{{- end }}
