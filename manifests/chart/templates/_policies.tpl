{{- /* The files that webhook, controller and audit read, beside GPUPolicies. */}}
{{- define "podberth.policies" -}}
{{ .shipped | ternary "/etc/podberth/policies" "/etc/podberth/policies/own" }}
{{- end }}

{{- /*
The kinds of configuration that need an entry for every pod, by the policies of one's own: entries_wanted of
webhook/podberth/policy/every_pod.py, in Helm's words.
*/}}
{{- define "podberth.everyPod" -}}
{{- range $text := .own }}
{{- range regexSplit "(?m)^---(?:\\s|$)" $text -1 }}
{{- $policy := fromYaml . }}
{{- $metadata := dig "metadata" dict $policy | default dict }}
{{- $says := dig "annotations" dict $metadata | default dict }}
{{- $spec := dig "spec" dict $policy | default dict }}
{{- $rules := dig "matchConstraints" dict $spec | default dict | dig "resourceRules" nil }}
{{- $ofNewPods := kindIs "invalid" $rules }}
{{- range $rules }}
{{- $groups := or (has "" .apiGroups) (has "*" .apiGroups) }}
{{- $operations := or (has "CREATE" .operations) (has "*" .operations) }}
{{- if and $groups $operations (or (has "pods" .resources) (has "*" .resources)) }}{{ $ofNewPods = true }}{{ end }}
{{- end }}
{{- if and (eq (dig "kind" "" $policy) "GPUPolicy") (eq (dig "scope" "" $spec | toString) "All") (not $spec.disabled) $ofNewPods
  (ne (dig "podberth.io/needs-every-pod" "" $says | toString) "false") }}
{{- if $spec.mutations }}
- MutatingWebhookConfiguration
{{- end }}
{{- if or $spec.validations $spec.auditAnnotations }}
- ValidatingWebhookConfiguration
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
